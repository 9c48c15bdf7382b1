/** Several gates as one: a call passes when it passes each of them, in their order. */
import type { Gate } from './tool.js';

/** The first gate that says no decides; those after it are not asked. */
export function allGates(...gates: readonly Gate[]): Gate {
  return {
    async check(request) {
      for (const gate of gates) {
        const decision = await gate.check(request);
        if (decision.allow !== true) return decision;
      }
      return { allow: true };
    },
    ended(request, outcome) {
      for (const gate of gates) gate.ended?.(request, outcome);
    },
  };
}
