/** `@bulkhead/runtime/control`: a control socket and a port with metrics for a runtime. Clients take `@bulkhead/runtime/control/client`. */
export { type MetricsOptions, type MetricsPort, openMetrics } from './metrics-port.js';
export { openControl } from './open.js';
export type { ControlConfig, ControlOptions, ControlSocket } from './options.js';
