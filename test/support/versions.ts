/** Helpers for tests of kinds with several API versions. */
import { expect } from 'vitest';
import type { Client, Json } from './http.ts';

/** The path of objects in the default namespace. */
export const placeOf = (apiVersion: string, resource: string): string =>
  `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/default/${resource}`;

export const tableAccept = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

/** Creates an object; returns the server's answer. */
export async function made(client: Client, path: string, body: Json): Promise<Json> {
  const reply = await client.post(path, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

export async function read(client: Client, path: string): Promise<Json> {
  const reply = await client.get(path);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}
