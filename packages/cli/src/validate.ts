/** Arguments against the tool's input schema: the same check, with the same words, as a resident makes. */
export { type Verdict, validate } from '@bulkhead/runtime/control/validate';
