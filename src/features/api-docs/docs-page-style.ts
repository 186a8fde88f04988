/** Corrections of Swagger UI's style: contrast (WCAG 2.2, 1.4.3) and narrow windows. */
export const STYLE = `
body { margin: 0; }
#docs > p { margin: 2rem; font-family: system-ui, sans-serif; }
.swagger-ui, .swagger-ui * { text-shadow: none; }
.swagger-ui .opblock .opblock-summary-method { color: #fff; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fa8; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1a6b45; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a4b00; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #12665a; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .opblock .opblock-summary-description { color: #2b2f33; }
.swagger-ui .opblock-tag small, .swagger-ui .info .base-url, .swagger-ui .servers-title { color: #40454a; }
.swagger-ui .info .title small { background: #40454a; }
.swagger-ui .info .title small.version-stamp { background: #1a6b45; }
.swagger-ui .btn.authorize { color: #1a6b45; border-color: #1a6b45; }
.swagger-ui a, .swagger-ui .info a { color: #1f5fa8; text-decoration: underline; }
.swagger-ui .wrapper { box-sizing: border-box; padding: 0 1rem; }
.swagger-ui .opblock-summary-path { word-break: break-all; }
@media (max-width: 40rem) { .swagger-ui .opblock-summary-description { display: none; } .swagger-ui table { display: block; overflow-x: auto; } }
`;
