"""What `manage.py demo` fills an installation with: made-up tables, and the services that tell them.

All is told with the time at which it would have happened, in one transaction: nobody sees half of it,
and a worker beside it finds no signal or message of it to take up. Every name and address in it is one
that is reserved (RFC 2606, RFC 5737), so that nothing that is sent later can reach anybody.
"""
