/** The compose file of the cluster example: it is valid YAML, and says what batches need of their store and workers. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { clusterDefaults } from '../../packages/cluster/src/defaults.js';
import { root } from './markdown.js';

interface Service {
  image: string;
  command: string[];
  secrets: string[];
  volumes: string[];
  environment?: unknown;
  stop_grace_period?: string;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
}

interface ComposeFile {
  services: Record<'redis' | 'worker', Service>;
  secrets: Record<string, { file?: string }>;
  volumes: Record<string, unknown>;
}

const directory = join(root, 'examples/cluster');
const text = readFileSync(join(directory, 'compose.yaml'), 'utf8');
const compose = parse(text, { strict: true, uniqueKeys: true }) as ComposeFile;
const scriptOf = ({ command }: Service): string => command.join(' ');

describe('the compose file of the cluster example', () => {
  it('has a Redis that keeps what it took and drops nothing', () => {
    const script = scriptOf(compose.services.redis);
    expect(script).toContain('--appendonly yes');
    expect(script).toContain('--maxmemory-policy noeviction');
    expect(compose.services.redis.volumes).toEqual(['redis-data:/data']);
    expect(compose.volumes).toHaveProperty('redis-data');
  });

  it('keeps the password out of itself', () => {
    expect(compose.secrets).toEqual({ redis_password: { file: './redis_password.txt' } });
    for (const service of Object.values(compose.services)) {
      expect(service.secrets).toEqual(['redis_password']);
      expect(service.environment).toBeUndefined();
      // A single dollar would be taken by compose itself, before the shell sees it.
      expect(scriptOf(service)).toContain('$$(cat /run/secrets/redis_password)');
      expect(scriptOf(service)).not.toMatch(/(?<!\$)\$(?!\$)/);
    }
  });

  it('starts workers once Redis answers, and lets them end in their own time', () => {
    const { worker, redis } = compose.services;
    expect(worker.depends_on).toEqual({ redis: { condition: 'service_healthy' } });
    expect(redis.healthcheck?.test[0]).toBe('CMD-SHELL');
    const graceMs = Number(/^(\d+)s$/.exec(worker.stop_grace_period ?? '')?.[1]) * 1_000;
    expect(graceMs).toBeGreaterThan(clusterDefaults.stopGraceMs);
  });

  it('names only files that are there', () => {
    const script = scriptOf(compose.services.worker);
    expect(script).toContain(
      '/bulkhead/packages/cli/bin/bulkhead.mjs worker --config /etc/bulkhead/mcp.json',
    );
    expect(existsSync(join(root, 'packages/cli/bin/bulkhead.mjs'))).toBe(true);
    expect(compose.services.worker.volumes).toEqual([
      '../..:/bulkhead:ro',
      './mcp.json:/etc/bulkhead/mcp.json:ro',
    ]);
    const config = JSON.parse(readFileSync(join(directory, 'mcp.json'), 'utf8')) as {
      mcpServers: Record<string, { args: string[] }>;
    };
    for (const { args } of Object.values(config.mcpServers)) {
      expect(existsSync(args[0]?.replace(/^\/bulkhead/, root.replace(/\/$/, '')) ?? '')).toBe(true);
    }
  });
});
