/**
 * The text of a request as it arrived, carried past the SDK beside the decoded message, so that the arguments of a call
 * reach their server digit for digit. The SDK hands on only what it calls the facts of an authorization.
 */
import { memberSpans } from '@bulkhead/workers';
import type { MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js';
import type { RawArguments } from '../api.js';
import { rawArguments } from '../call.js';

type AuthFacts = NonNullable<MessageExtraInfo['authInfo']>;

const MEMBER = 'bulkhead/text';

export function withText(text: string): AuthFacts {
  return { token: '', clientId: '', scopes: [], extra: { [MEMBER]: text } };
}

/**
 * `params.arguments` of the request; an empty object when there are none.
 * @param decoded The same, decoded: taken where the text is not at hand.
 * @throws {BulkheadError} `INVALID_ARGUMENTS`.
 */
export function argumentsOf(facts: AuthFacts | undefined, decoded: unknown): RawArguments {
  const text = facts?.extra?.[MEMBER];
  if (typeof text === 'string') {
    const params = memberSpans(text).get('params');
    const args = params === undefined ? undefined : memberSpans(text, params.start).get('arguments');
    if (args !== undefined) return rawArguments(text.slice(args.start, args.end).replace(/[\r\n]+/g, ' '));
  }
  return rawArguments(JSON.stringify(decoded ?? {}));
}
