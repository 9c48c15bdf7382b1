/**
 * `@bulkhead/runtime/agent`: everything between a runtime and a model. Tools and their choice, trust, hooks, prompts,
 * providers' formats, and a loop that runs it all; each can be used without the others.
 */

export { argumentsHash } from '../audit/arguments.js';
export { isMcpTool } from '../naming.js';
export {
  type AnthropicPrompt,
  type AnthropicPromptInput,
  type AnthropicTextBlock,
  anthropicPrompt,
  type CacheControl,
} from './anthropic-prompt.js';
export { type AuditOptions, type AuditRecord, auditHook } from './audit.js';
export { type BudgetOptions, budgetDefaults, OutputBudget, withinBudget } from './budget.js';
export { inferCapabilities, onlyReads, type ToolTraits } from './capabilities.js';
export { DataFlow, type DataFlowOptions } from './data-flow.js';
export { allGates } from './gates.js';
export type {
  CallEnd,
  HookAnswer,
  HookEvent,
  HookedCall,
  HookInput,
  HookProblem,
  HookResult,
  PostToolUseInput,
  PreToolUseInput,
  SessionStartInput,
} from './hooks/event.js';
export type {
  FunctionHook,
  PostToolUseHook,
  PreToolUseHook,
  SessionStartHook,
} from './hooks/function-hook.js';
export { createHooks, type Hooks } from './hooks/hooks.js';
export {
  type HookSubject,
  hooksFiles,
  type LoadedHooks,
  type LoadHooksOptions,
  loadHooks,
} from './hooks/load.js';
export type { ToolMatch } from './hooks/matcher.js';
export type { HooksOptions, HooksReport, PreToolUseDecision } from './hooks/options.js';
export type { HookRule } from './hooks/rule.js';
export { hookDefaults } from './hooks/schema.js';
export { type CatalogOptions, catalogText, type InstructionOptions, instructions } from './instructions.js';
export type { ToolLease } from './lease.js';
export { defineTool, type LocalAnswer, type LocalToolInit } from './local-tool.js';
export { runAgent } from './loop.js';
export type { AgentHooks } from './loop-call.js';
export type { AgentEvent, CallEvent, RunResult, StopReason } from './loop-events.js';
export { type LoopToolset, loopDefaults, type RunOptions, type StepTools } from './loop-options.js';
export type { AgentRun } from './loop-run.js';
export type { McpToolOptions, ToolsetRuntime } from './mcp-tools.js';
export {
  completeMention,
  type MentionCompletionOptions,
  type MentionProposal,
} from './mention-completion.js';
export {
  type ExpandedMentions,
  expandMentions,
  type FoundMentions,
  findMentions,
  type Mention,
  type MentionedResource,
  type MentionOptions,
} from './mentions.js';
export { type AiSdkExport, type AiSdkExportOptions, toAiSdkTools } from './models/ai-sdk.js';
export { type AnthropicModelOptions, anthropicModel } from './models/anthropic.js';
export type {
  AssistantPart,
  Message,
  Model,
  ModelCall,
  ModelEvent,
  ModelRequest,
  ModelStop,
  Usage,
} from './models/model.js';
export { openAiChatModel } from './models/openai-chat.js';
export type { OpenAiModelOptions } from './models/openai-options.js';
export { openAiResponsesModel } from './models/openai-responses.js';
export {
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedOptions,
  type ScriptedTurn,
  scriptedModel,
} from './models/scripted.js';
export { OutputFiles } from './output-files.js';
export { type PartsOptions, resultParts } from './parts.js';
export type { Rule } from './permission-rules.js';
export { type PermissionMode, type PermissionOptions, Permissions } from './permissions.js';
export { definitionHash, type PinChange, type PinOptions, Pins } from './pins.js';
export {
  type AiSdkDefinition,
  type AiSdkOutput,
  type AiSdkToolMessage,
  type AiSdkToolSet,
  aiSdk,
  aiSdkOutput,
  aiSdkTools,
} from './providers/ai-sdk.js';
export {
  type AnthropicBlock,
  type AnthropicMessage,
  type AnthropicTool,
  type AnthropicToolResult,
  anthropic,
  anthropicToolResult,
} from './providers/anthropic.js';
export { type GeminiContent, type GeminiFunction, type GeminiPart, gemini } from './providers/gemini.js';
export { type OpenAiChatMessage, type OpenAiChatTool, openAiChat } from './providers/openai-chat.js';
export {
  type OpenAiOutputContent,
  type OpenAiResponsesItem,
  type OpenAiResponsesTool,
  openAiResponses,
} from './providers/openai-responses.js';
export type {
  MediaRules,
  ModelResult,
  ProviderName,
  ProviderProfile,
  ProviderTools,
} from './providers/profile.js';
export type { SchemaNode } from './providers/schema-rules.js';
export type { Answer, OnAsk, Question } from './question.js';
export { ResultShaper, type ShapedOutput, type ShaperOptions } from './result-shaper.js';
export type { SearchOptions } from './search/deferral.js';
export { TOOL_SEARCH_NAME } from './search/tool-search.js';
export {
  type SlashArgument,
  type SlashCommand,
  SlashCommands,
  type SlashMessage,
  type SlashResult,
} from './slash.js';
export { type SubAgentOptions, subAgentTool } from './sub-agent.js';
export { estimateTokens } from './tokens.js';
export type {
  CallRoute,
  Capability,
  Gate,
  GateDecision,
  GateRequest,
  JsonSchema,
  ResultPart,
  ServerTrust,
  Tool,
  ToolContext,
  ToolIdentity,
  ToolOutput,
} from './tool.js';
export type { ToolFilter, ToolRule, ToolRules } from './tool-filter.js';
export {
  createToolset,
  type ForkOptions,
  type Toolset,
  type ToolsetChange,
  type ToolsetOptions,
} from './toolset.js';
export { openTrust, type Trust, type TrustOptions } from './trust.js';
