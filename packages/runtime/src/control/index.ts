/** `@bulkhead/runtime/control`: a control socket for a runtime. Clients take `@bulkhead/runtime/control/client`. */
export { openControl } from './open.js';
export type { ControlConfig, ControlOptions, ControlSocket } from './options.js';
