/**
 * Which user of this machine holds the other end of a loopback connection. A port is open to all users, and the address
 * with its token can be read in the list of processes while a browser starts: Linux tells who really came.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** 127.0.0.1 as the kernel writes it on little-endian machines, alone or inside an IPv6 address. */
const LOOPBACK = '0100007F';
const ESTABLISHED = '01';

/** The uid; undefined where the system does not tell. */
export function peerUser({ localPort, remotePort }: Pick<Socket, 'localPort' | 'remotePort'>) {
  if (process.platform !== 'linux' || localPort === undefined || remotePort === undefined) return undefined;
  return ['/proc/net/tcp', '/proc/net/tcp6'].map((table) => find(table, remotePort, localPort)).find(isUid);
}

/** Whether the connection surely comes from a user who is neither this one nor the superuser. */
export function isForeign(socket: Pick<Socket, 'localPort' | 'remotePort'>): boolean {
  const uid = peerUser(socket);
  return uid !== undefined && uid !== 0 && uid !== process.getuid?.();
}

function find(table: string, from: number, to: number): number | undefined {
  let text: string;
  try {
    text = readFileSync(table, 'latin1');
  } catch {
    return undefined;
  }
  const [source, target] = [from, to].map((port) => `${LOOPBACK}:${hex(port)}`);
  for (const line of text.split('\n')) {
    const [, local, remote, state, , , , uid] = line.trim().split(/\s+/);
    if (state !== ESTABLISHED || !local?.endsWith(String(source)) || !remote?.endsWith(String(target)))
      continue;
    return Number(uid);
  }
  return undefined;
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

function isUid(uid: number | undefined): uid is number {
  return uid !== undefined && Number.isInteger(uid);
}
