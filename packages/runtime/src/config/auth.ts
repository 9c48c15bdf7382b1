/** The `auth` field of a remote server: how to sign in where OAuth needs more than the server itself says. */
import type { AuthSettings } from '@bulkhead/workers';
import { z } from 'zod';
import type { ExpandField } from './field.js';

const texts = [
  'grant',
  'clientId',
  'clientSecret',
  'privateKey',
  'signingAlgorithm',
  'clientMetadataUrl',
  'issuer',
] as const;
const known: readonly string[] = [...texts, 'scopes', 'redirectPort'];

/** Entries are read as Maps, because their keys are foreign. */
export const authSchema = z
  .map(z.string(), z.union([z.string(), z.number(), z.array(z.string())]), {
    error: 'expected an object such as {"clientId": "…", "scopes": ["…"]}',
  })
  .superRefine((fields, context) => {
    const refuse = (key: string, message: string) =>
      context.addIssue({ code: 'custom', path: [key], message });
    for (const [key, value] of fields) {
      if (!known.includes(key)) refuse(key, `is no field of "auth"; known: ${known.join(', ')}`);
      else if (key === 'scopes' && !Array.isArray(value)) refuse(key, 'expected an array of strings');
      else if (key === 'redirectPort' && !isPort(value)) refuse(key, 'expected a port from 1 to 65535');
      else if ((texts as readonly string[]).includes(key) && typeof value !== 'string')
        refuse(key, 'expected a string');
    }
    const grant = fields.get('grant');
    if (grant !== undefined && grant !== 'authorization_code' && grant !== 'client_credentials') {
      refuse('grant', 'expected "authorization_code" or "client_credentials"');
    }
  });
export type AuthFields = z.infer<typeof authSchema>;

/** The settings with their variables expanded. */
export function authSettings(fields: AuthFields, field: ExpandField): AuthSettings {
  const settings = new Map<string, unknown>();
  for (const [key, value] of fields) {
    if (typeof value === 'string') settings.set(key, field(value, ['auth', key]));
    else if (Array.isArray(value))
      settings.set(
        key,
        value.map((scope, index) => field(scope, ['auth', key, index])),
      );
    else settings.set(key, value);
  }
  return Object.fromEntries(settings) as AuthSettings;
}

function isPort(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
}
