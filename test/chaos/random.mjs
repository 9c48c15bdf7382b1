/**
 * Randomness that can be repeated. Every actor has a generator of its own, made from the seed and its name: the order in
 * which actors get their turn does not change what each of them draws.
 */

/** @param {number} seed @param {string} name */
export function generator(seed, name) {
  let state = hash(`${seed}:${name}`);
  // mulberry32: 32 bits of state are plenty for choices of this kind.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** Both ends included. */
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (share) => next() < share,
    pick: (list) => list[Math.floor(next() * list.length)],
    /** @param {[weight: number, value: unknown][]} choices */
    weighted: (choices) => {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of choices) {
        left -= weight;
        if (left < 0) return value;
      }
      return choices.at(-1)[1];
    },
  };
}

/** FNV-1a. */
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
