/** One thing in several versions: what the tests of that share. */
import { expect } from 'vitest';
import type { Client, Json } from './http.ts';

/** Where objects of the default namespace are. */
export const placeOf = (apiVersion: string, resource: string): string =>
  `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/default/${resource}`;

export const tableAccept = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

/** Makes an object, and answers it as the server does. */
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
