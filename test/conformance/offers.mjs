/**
 * A stdio server with all that the conformance suite asks a server for, served to the suite by `bulkhead serve`. Written
 * on the bare protocol: what the suite sees is then the work of what stands between.
 */
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const STEP_MS = 50;

const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } });
const choices = (names) => names.map(([value, title]) => ({ const: value, title }));

let asked = 0;
const waiting = new Map();
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const notify = (method, params) => send({ method, params });
const ask = (method, params) =>
  new Promise((resolve) => {
    waiting.set(++asked, resolve);
    send({ id: asked, method, params });
  });
async function elicit(message, properties) {
  const schema = { type: 'object', properties, required: [] };
  const answer = await ask('elicitation/create', { message, requestedSchema: schema });
  const said = `action=${answer.action}, content=${JSON.stringify(answer.content)}`;
  return [text(`Elicitation completed: ${said}`)];
}

const tools = new Map([
  ['test_simple_text', () => [text('This is a simple text response for testing.')]],
  ['test_image_content', () => [image]],
  ['test_audio_content', () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]],
  [
    'test_embedded_resource',
    () => [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  ],
  [
    'test_multiple_content_types',
    () => [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  ],
  [
    'test_tool_with_logging',
    async () => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        notify('notifications/message', { level: 'info', data });
        await wait(STEP_MS);
      }
      return [text('logged')];
    },
  ],
  [
    'test_tool_with_progress',
    async (_, progressToken) => {
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          notify('notifications/progress', { progressToken, progress, total: 100 });
        await wait(STEP_MS);
      }
      return [text(String(progressToken))];
    },
  ],
  [
    'test_sampling',
    async ({ prompt }) => {
      const messages = [{ role: 'user', content: text(prompt) }];
      const answer = await ask('sampling/createMessage', { messages, maxTokens: 100 });
      return [text(`LLM response: ${answer.content.text}`)];
    },
  ],
  [
    'test_elicitation',
    ({ message }) => elicit(message, { username: { type: 'string' }, email: { type: 'string' } }),
  ],
  [
    'test_elicitation_sep1034_defaults',
    () =>
      elicit('Please review', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
  ],
  [
    'test_elicitation_sep1330_enums',
    () => {
      const options = ['option1', 'option2', 'option3'];
      const titled = choices([
        ['value1', 'First'],
        ['value2', 'Second'],
        ['value3', 'Third'],
      ]);
      return elicit('Please choose', {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      });
    },
  ],
]);
const failing = { name: 'test_error_handling', description: 'Fails', inputSchema: { type: 'object' } };
const dialect = {
  name: 'json_schema_2020_12_tool',
  description: 'Tool with JSON Schema 2020-12 features',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
    },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  },
};

const prompts = new Map([
  ['test_simple_prompt', { arguments: [], content: () => [text('This is a simple prompt for testing.')] }],
  [
    'test_prompt_with_arguments',
    {
      arguments: ['arg1', 'arg2'],
      content: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    },
  ],
  [
    'test_prompt_with_embedded_resource',
    {
      arguments: ['resourceUri'],
      content: ({ resourceUri }) => [
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ],
    },
  ],
  [
    'test_prompt_with_image',
    { arguments: [], content: () => [image, text('Please analyze the image above.')] },
  ],
]);

const resources = [
  {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watched resource content' },
];

function read(uri) {
  const found = resources.find((resource) => resource.uri === uri);
  if (found !== undefined) return found;
  const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
}

async function answer(method, params) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        serverInfo: { name: 'offers', version: '1.0.0' },
        capabilities: {
          tools: {},
          prompts: {},
          resources: { subscribe: true },
          completions: {},
          logging: {},
        },
      };
    case 'tools/list': {
      const plain = [...tools.keys()].map((name) => ({ ...failing, name, description: `Tool ${name}` }));
      return { tools: [...plain, failing, dialect] };
    }
    case 'tools/call': {
      const run = tools.get(params.name);
      if (run === undefined) {
        return { content: [text('This tool intentionally returns an error for testing')], isError: true };
      }
      return { content: await run(params.arguments ?? {}, params._meta?.progressToken) };
    }
    case 'resources/list':
      return { resources: resources.map(({ uri, mimeType }) => ({ uri, mimeType, name: uri })) };
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }] };
    case 'resources/read': {
      const found = read(params.uri);
      return found === undefined ? undefined : { contents: [found] };
    }
    case 'prompts/list': {
      const list = [...prompts].map(([name, { arguments: names }]) => ({
        name,
        description: `Prompt ${name}`,
        arguments: names.map((argument) => ({ name: argument, description: argument, required: true })),
      }));
      return { prompts: list };
    }
    case 'prompts/get': {
      const content = prompts.get(params.name)?.content(params.arguments ?? {}) ?? [];
      return { messages: content.map((one) => ({ role: 'user', content: one })) };
    }
    case 'completion/complete':
      return { completion: { values: ['paris', 'park', 'party'], total: 150, hasMore: false } };
    case 'ping':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
    case 'logging/setLevel':
      return {};
    default:
      return undefined;
  }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.(result);
  if (id === undefined) return;
  const answered = await answer(method, params ?? {});
  if (answered === undefined) send({ id, error: { code: -32602, message: 'there is no such thing' } });
  else send({ id, result: answered });
});
