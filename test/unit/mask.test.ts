/** What a server prints of its own secrets never leaves the supervisor, however its output is cut. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Mask } from '../../packages/workers/src/supervisor/mask.js';

function streamed(mask: Mask, pieces: Buffer[]): string {
  return Buffer.concat([...pieces.map((piece) => mask.push(piece)), mask.end()]).toString();
}

describe('the mask over a stream', () => {
  it('replaces a secret wherever the stream is cut, and changes nothing else', () => {
    const secrets = ['s3cr3t-tök€n', 's3cr3t-tök€n-long'];
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...secrets, 's3cr3t', 'n-lo', ' '), fc.string()), { maxLength: 8 }),
        fc.array(fc.nat(60), { maxLength: 6 }),
        (words, cuts) => {
          const bytes = Buffer.from(words.join('|'));
          const at = [
            0,
            ...cuts.sort((a, b) => a - b).map((cut) => Math.min(cut, bytes.length)),
            bytes.length,
          ];
          const pieces = at.slice(1).map((to, index) => bytes.subarray(at[index], to));
          const whole = new Mask(secrets).text(bytes.toString());
          expect(streamed(new Mask(secrets), pieces)).toBe(whole);
        },
      ),
    );
  });

  it('passes bytes on as they are when there is no secret', () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3]);
    expect(new Mask([]).push(bytes)).toBe(bytes);
  });

  it('holds back no more than what may begin a secret', () => {
    const mask = new Mask(['abcdef']);
    expect(mask.push(Buffer.from('xxabc')).toString()).toBe('xx');
    expect(mask.push(Buffer.from('X')).toString()).toBe('abcX');
    expect(mask.end().length).toBe(0);
  });
});
