"use strict";

const place = document.getElementById("document");

SwaggerUIBundle({
  url: place.dataset.url,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // Without it the page would ask an outside host whether the document is valid.
  validatorUrl: null,
});
