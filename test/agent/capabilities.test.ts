/** What is made of the words of real tools, and of hints that servers give about themselves. */
import { describe, expect, test } from 'vitest';
import { inferCapabilities, onlyReads } from '../../packages/runtime/src/agent/capabilities.js';

/** Name, first sentence of the description as its server gives it, capabilities where the server is trusted. */
const real: [name: string, description: string, capabilities: string][] = [
  // filesystem
  ['read_text_file', 'Read the complete contents of a file from the file system as text.', 'read'],
  ['read_multiple_files', 'Read the contents of multiple files simultaneously.', 'read'],
  ['write_file', 'Create a new file or completely overwrite an existing file with new content.', 'write'],
  ['edit_file', 'Make line-based edits to a text file.', 'write'],
  ['create_directory', 'Create a new directory or ensure a directory exists.', 'write'],
  ['list_directory', 'Get a detailed listing of all files and directories in a specified path.', 'read'],
  ['directory_tree', 'Get a recursive tree view of files and directories as a JSON structure.', 'read'],
  ['move_file', 'Move or rename files and directories.', 'write'],
  ['search_files', 'Recursively search for files and directories matching a pattern.', 'read'],
  ['get_file_info', 'Retrieve detailed metadata about a file or directory.', 'read'],
  [
    'list_allowed_directories',
    'Returns the list of directories that this server is allowed to access.',
    'read',
  ],
  // memory
  ['create_entities', 'Create multiple new entities in the knowledge graph', 'write'],
  ['create_relations', 'Create multiple new relations between entities in the knowledge graph', 'write'],
  ['add_observations', 'Add new observations to existing entities in the knowledge graph', 'write'],
  ['delete_entities', 'Delete multiple entities and their associated relations', 'destructive write'],
  ['delete_observations', 'Delete specific observations from entities', 'destructive write'],
  ['read_graph', 'Read the entire knowledge graph', 'read'],
  ['search_nodes', 'Search for nodes in the knowledge graph based on a query', 'read'],
  ['open_nodes', 'Open specific nodes in the knowledge graph by their names', 'read'],
  // git
  ['git_status', 'Shows the working tree status', 'read'],
  ['git_diff_unstaged', 'Shows changes in the working directory that are not yet staged', 'read'],
  ['git_commit', 'Records changes to the repository', 'write'],
  ['git_add', 'Adds file contents to the staging area', 'write'],
  ['git_reset', 'Unstages all staged changes', 'destructive write'],
  ['git_log', 'Shows the commit logs', 'read'],
  ['git_create_branch', 'Creates a new branch from an optional base branch', 'write'],
  ['git_checkout', 'Switches branches', 'write'],
  ['git_show', 'Shows the contents of a commit', 'read'],
  // databases
  ['query', 'Run a read-only SQL query', 'read'],
  ['read_query', 'Execute a SELECT query on the SQLite database', 'read'],
  [
    'write_query',
    'Execute an INSERT, UPDATE, or DELETE query on the SQLite database',
    'destructive network write',
  ],
  ['create_table', 'Create a new table in the SQLite database', 'write'],
  ['list_tables', 'List all tables in the SQLite database', 'read'],
  ['describe_table', 'Get the schema information for a specific table', 'read'],
  ['append_insight', 'Add a business insight to the memo', 'write'],
  // web and browsers
  [
    'fetch',
    'Fetches a URL from the internet and optionally extracts its contents as markdown.',
    'network read',
  ],
  ['brave_web_search', 'Performs a web search using the Brave Search API.', 'network read'],
  ['puppeteer_navigate', 'Navigate to a URL', 'network write'],
  ['puppeteer_screenshot', 'Take a screenshot of the current page or a specific element', 'read'],
  ['puppeteer_click', 'Click an element on the page', 'write'],
  ['puppeteer_evaluate', 'Execute JavaScript in the browser console', 'destructive network write'],
  ['browser_snapshot', 'Capture accessibility snapshot of the current page', 'network read'],
  ['browser_type', 'Type text into editable element', 'network write'],
  ['browser_run_code', 'Run Playwright code snippet', 'destructive network write'],
  ['resolve-library-id', 'Resolves a package/product name to a Context7-compatible library ID', 'read'],
  ['get-library-docs', 'Fetches up-to-date documentation for a library.', 'network read'],
  // forges, chat, mail
  ['create_or_update_file', 'Create or update a single file in a GitHub repository', 'write'],
  ['push_files', 'Push multiple files to a GitHub repository in a single commit', 'write'],
  ['search_repositories', 'Search for GitHub repositories', 'read'],
  ['create_issue', 'Create a new issue in a GitHub repository', 'write'],
  ['list_issues', 'List issues in a GitHub repository with filtering options', 'read'],
  ['add_issue_comment', 'Add a comment to an existing issue', 'write'],
  ['merge_pull_request', 'Merge a pull request', 'write'],
  ['get_pull_request_status', 'Get the combined status of all status checks for a pull request', 'read'],
  ['pull_request_read', 'Get information on a specific pull request in GitHub repository.', 'read'],
  ['list_workflow_runs', 'List workflow runs for a specific workflow', 'read'],
  ['cancel_workflow_run', 'Cancel a workflow run', 'destructive write'],
  ['fork_repository', 'Fork a GitHub repository to your account or specified organization', 'write'],
  ['slack_post_message', 'Post a new message to a Slack channel', 'network write'],
  ['slack_list_channels', 'List public channels in the workspace with pagination', 'network read'],
  ['send_email', 'Sends a new email', 'network write'],
  ['API-post-page', 'Create a page', 'network write'],
  ['API-get-user', 'Retrieve a user', 'network read'],
  // shells and others
  ['execute_command', 'Execute a command on the system', 'destructive network write'],
  ['run_terminal_cmd', '', 'destructive network write'],
  ['bash', 'Run commands in a bash shell', 'destructive network write'],
  ['kill_process', 'Terminate a running process by PID.', 'destructive write'],
  ['get_current_time', 'Get current time in a specific timezones', 'read'],
  [
    'sequentialthinking',
    'A detailed tool for dynamic and reflective problem-solving through thoughts.',
    'unknown',
  ],
  ['maps_directions', '', 'unknown'],
  // forms of names
  ['get_or_create_user', '', 'write'],
  ['searchAndDeleteUser', '', 'destructive write'],
  ['getUser', '', 'read'],
  ['HTTPGet', '', 'network read'],
  ['notes.add', '', 'write'],
  ['issues/list', '', 'read'],
  ['', '', 'unknown'],
];

const listed = (capabilities: ReadonlySet<string>) => [...capabilities].sort().join(' ');

describe('the words of a tool', () => {
  test(`tell what it does, for ${real.length} tools as servers list them`, () => {
    expect(real.length).toBeGreaterThanOrEqual(60);
    const told = real.map(([name, description]) => [
      name,
      description,
      listed(inferCapabilities({ name, description }, { trusted: true })),
    ]);
    expect(told).toEqual(real);
  });

  test('of a server without trust never make it certain to read (B178)', () => {
    for (const [name, description] of real) {
      const found = inferCapabilities({ name, description }, { trusted: false });
      expect(onlyReads(found), name).toBe(false);
      expect(found.has('unknown') || found.has('write'), name).toBe(true);
    }
  });

  test('a description that starts with a deed raises a harmless name', () => {
    const tool = { name: 'get_report', description: 'Deletes the old report and returns a new one.' };
    expect(listed(inferCapabilities(tool, { trusted: true }))).toBe('destructive write');
  });

  test('a deed that is only spoken of is none', () => {
    const tool = { name: 'get_report', description: 'Returns the reports that somebody deleted.' };
    expect(listed(inferCapabilities(tool, { trusted: true }))).toBe('read');
  });

  test('a megabyte of description costs no more than its start', () => {
    const description = `Lists things ${'a_'.repeat(500_000)}`;
    const startedAt = performance.now();
    expect(listed(inferCapabilities({ name: 'x', description }, { trusted: true }))).toBe('read');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('hints', () => {
  const writes = { name: 'write_file' };
  const reads = { name: 'read_page' };

  test.each([
    [
      'readOnlyHint of read_page that may write',
      { ...reads, annotations: { readOnlyHint: true } },
      'read unknown',
    ],
    ['readOnlyHint of write_file', { ...writes, annotations: { readOnlyHint: true } }, 'write'],
    [
      'a denied destructiveHint',
      { name: 'delete_x', annotations: { destructiveHint: false } },
      'destructive write',
    ],
    [
      'openWorldHint: false of fetch',
      { name: 'fetch', annotations: { openWorldHint: false } },
      'network read unknown',
    ],
  ])('of a server without trust lower nothing: %s (B178)', (_, tool, expected) => {
    expect(listed(inferCapabilities(tool, { trusted: false }))).toBe(expected);
  });

  test.each([
    ['readOnlyHint: false', { ...reads, annotations: { readOnlyHint: false } }, 'write'],
    ['destructiveHint: true', { ...reads, annotations: { destructiveHint: true } }, 'destructive write'],
    ['openWorldHint: true', { ...writes, annotations: { openWorldHint: true } }, 'network write'],
  ])('of a server without trust raise: %s', (_, tool, expected) => {
    expect(listed(inferCapabilities(tool, { trusted: false }))).toBe(expected);
  });

  test.each([
    ['readOnlyHint', { ...writes, annotations: { readOnlyHint: true } }, 'read'],
    [
      'readOnlyHint and openWorldHint: false',
      { name: 'fetch', annotations: { readOnlyHint: true, openWorldHint: false } },
      'read',
    ],
    [
      'destructiveHint: false',
      { name: 'delete_x', annotations: { readOnlyHint: false, destructiveHint: false } },
      'write',
    ],
    ['readOnlyHint: false', { ...reads, annotations: { readOnlyHint: false } }, 'write'],
  ])('of a trusted server decide: %s', (_, tool, expected) => {
    expect(listed(inferCapabilities(tool, { trusted: true }))).toBe(expected);
  });

  test('that are no booleans say nothing', () => {
    const annotations = { readOnlyHint: 'true', destructiveHint: 1, openWorldHint: null };
    expect(listed(inferCapabilities({ ...writes, annotations }, { trusted: true }))).toBe('write');
  });
});
