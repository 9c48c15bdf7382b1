/**
 * Arguments made from the columns of a record: a JSON object whose texts hold `{{column}}`. A text that is nothing but
 * one placeholder becomes the value itself, with the digits it was written with; elsewhere the value is spliced in as
 * text. `{{column:number}}` and `{{column:json}}` read a text, of a CSV file for instance, as what it stands for. Pure.
 */
import { BulkheadError, isRecord } from '@bulkhead/workers';
import { singleLine } from './record.js';

/** JSON text of each column's value. */
export type Columns = ReadonlyMap<string, string>;

const PLACEHOLDER = /\{\{\s*([^{}]+?)\s*\}\}/g;
const WHOLE = /^\{\{\s*([^{}]+?)\s*\}\}$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const SHOWN = 80;

export class ArgumentTemplate {
  readonly #template: Record<string, unknown>;

  /** @throws {BulkheadError} `BAD_INPUT` when the text is not a JSON object. */
  constructor(text: string) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new BulkheadError('BAD_INPUT', `the template is not JSON: ${(error as Error).message}`);
    }
    if (!isRecord(value)) {
      throw new BulkheadError(
        'BAD_INPUT',
        'the template: expected a JSON object such as {"text": "{{name}}"}',
      );
    }
    this.#template = value;
  }

  /**
   * JSON text of the arguments, on one line.
   * @throws {BulkheadError} `BAD_INPUT` naming the column that is missing, or whose value does not fit.
   */
  fill(columns: Columns): string {
    return fillValue(this.#template, columns);
  }
}

function fillValue(value: unknown, columns: Columns): string {
  if (typeof value === 'string') return fillText(value, columns);
  if (Array.isArray(value)) return `[${value.map((item) => fillValue(item, columns)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}:${fillValue(item, columns)}`,
  );
  return `{${members.join(',')}}`;
}

function fillText(text: string, columns: Columns): string {
  const whole = WHOLE.exec(text)?.[1];
  if (whole !== undefined) return valueFor(whole, columns);
  if (!text.includes('{{')) return JSON.stringify(text);
  return JSON.stringify(text.replace(PLACEHOLDER, (_, name: string) => asText(valueFor(name, columns))));
}

function valueFor(placeholder: string, columns: Columns): string {
  const plain = columns.get(placeholder);
  if (plain !== undefined) return plain;
  const [, name = placeholder, as] = /^(.+?)\s*:\s*(number|json)$/.exec(placeholder) ?? [];
  const json = as === undefined ? undefined : columns.get(name);
  if (json === undefined) {
    throw new BulkheadError(
      'BAD_INPUT',
      `the template asks for the column "${name}", the columns are: ${[...columns.keys()].join(', ') || 'none'}`,
    );
  }
  if (!json.startsWith('"')) return json;
  const text = (JSON.parse(json) as string).trim();
  if (as === 'number' ? NUMBER.test(text) : isJson(text)) return singleLine(text);
  throw new BulkheadError(
    'BAD_INPUT',
    `column "${name}": expected ${as === 'number' ? 'a number' : 'JSON'}, got "${text.slice(0, SHOWN)}"`,
  );
}

function asText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
