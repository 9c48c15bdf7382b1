/** Every provider takes every real tool we know, and refuses no arguments that the tool's own server would accept. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { aiSdk } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import { openAiResponses } from '../../packages/runtime/src/agent/providers/openai-responses.js';
import type { Tool } from '../../packages/runtime/src/agent/tool.js';
import { assignNames } from '../../packages/runtime/src/naming.js';
import {
  checkAiSdkTools,
  checkAnthropicTools,
  checkGeminiTools,
  checkOpenAiTools,
} from './provider-limits.js';
import { sampleOf } from './samples.js';
import { type Definition, toolOf } from './tools.js';

const folder = new URL('../fixtures/tools/', import.meta.url);

/** All tools of the corpus under the names that a runtime would give them. */
function corpus(): Tool[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const servers = files
    .map(
      (name) =>
        JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as { server: string; tools: Definition[] },
    )
    .filter(({ server, tools }) => server !== undefined && Array.isArray(tools));
  const definitions = servers.flatMap(({ server, tools }) => tools.map((tool) => ({ server, tool })));
  const names = assignNames(definitions.map(({ server, tool }) => ({ server, tool: tool.name })));
  return [...names].map(([name, origin]) => {
    const found = definitions.find(
      ({ server, tool }) => server === origin.server && tool.name === origin.tool,
    );
    return toolOf({ ...found?.tool, name }, origin.server);
  });
}

const tools = corpus();
/** OpenAI takes 128 tools in one request; all of them must be fit for some request. */
const requests = Array.from({ length: Math.ceil(tools.length / 128) }, (_, at) =>
  tools.slice(at * 128, at * 128 + 128),
);

test('the corpus is large', () => {
  expect(tools.length).toBeGreaterThanOrEqual(300);
});

describe('within the documented limits', () => {
  test('Anthropic', () => {
    const { definitions, omitted } = anthropic.tools(tools);
    expect(checkAnthropicTools(definitions)).toEqual([]);
    expect(omitted).toEqual([]);
  });

  test('OpenAI, both APIs', () => {
    for (const request of requests) {
      for (const profile of [openAiChat, openAiResponses]) {
        const { definitions, omitted } = profile.tools(request);
        expect(checkOpenAiTools([...definitions])).toEqual([]);
        expect(omitted).toEqual([]);
      }
    }
  });

  test('Gemini', () => {
    for (const request of requests) {
      const { definitions, omitted } = gemini.tools(request);
      expect(checkGeminiTools(definitions)).toEqual([]);
      expect(omitted).toEqual([]);
    }
  });

  test('the AI SDK', () => {
    const { definitions, omitted } = aiSdk.tools(tools);
    expect(checkAiSdkTools(definitions)).toEqual([]);
    expect(omitted).toEqual([]);
  });
});

interface Validator {
  compile(schema: object): (value: unknown) => boolean;
}

// Ajv belongs to the threads' package; the tests take the same one.
const require = createRequire(new URL('../../packages/workers/package.json', import.meta.url));
const { default: Ajv2020 } = require('ajv/dist/2020') as { default: new (options: object) => Validator };
// The schemas were judged above; to judge each one here again would take minutes.
const ajv = new Ajv2020({
  strict: false,
  logger: false,
  validateFormats: false,
  validateSchema: false,
  addUsedSchema: false,
});

/** Arguments that the tool's own schema accepts. */
function samplesFor(tool: Tool): unknown[] {
  const { $schema: _dialect, ...own } = tool.inputSchema as Record<string, unknown>;
  const samples = (['all', 'required', 'last'] as const).map((style) => sampleOf(own, style));
  const accepts = ajv.compile(own);
  return samples.filter((sample) => accepts(sample));
}

describe('arguments that a server accepts are never refused by what a model is shown', () => {
  const schemas = new Map<string, (tool: Tool) => object | undefined>([
    ['Anthropic', (tool) => anthropic.tools([tool]).definitions[0]?.input_schema],
    ['OpenAI', (tool) => openAiChat.tools([tool]).definitions[0]?.function.parameters],
    ['Gemini', (tool) => gemini.tools([tool]).definitions[0]?.parametersJsonSchema ?? {}],
    ['the AI SDK', (tool) => aiSdk.tools([tool]).definitions[0]?.inputSchema],
  ]);

  const accepted = new Map(tools.map((tool) => [tool, samplesFor(tool)]));

  test('there are such arguments for nearly every tool', () => {
    const without = tools.filter((tool) => accepted.get(tool)?.length === 0);
    expect(without.length).toBeLessThan(tools.length / 20);
  });

  test.each([...schemas])('%s', (_, schemaFor) => {
    const refused: unknown[] = [];
    for (const tool of tools) {
      const isTaken = ajv.compile(schemaFor(tool) ?? { not: {} });
      for (const sample of accepted.get(tool) ?? []) {
        if (!isTaken(sample)) refused.push({ tool: tool.name, sample });
      }
    }
    expect(refused).toEqual([]);
  });
});

test('equal tools give equal bytes', () => {
  const again = corpus();
  for (const profile of [anthropic, openAiResponses, gemini, aiSdk]) {
    const bytes = (set: Tool[]) => JSON.stringify(profile.tools(set).definitions);
    expect(bytes(again)).toBe(bytes(tools));
  }
});

test('the schemas are rewritten once for all prompts', () => {
  const [first] = anthropic.tools(tools.slice(0, 1)).definitions;
  const [second] = anthropic.tools(tools.slice(0, 1)).definitions;
  expect(second?.input_schema.properties).toBe(first?.input_schema.properties);
});
