"""Forms that create and change alert configurations; `alerting.config_form` defines their inputs."""
