/** Writes events through a client. */
import { StatusError } from '../api/errors/errors.ts';
import type { Client } from './client.ts';
import type { EventSink } from './events.ts';
import { events } from './resources.ts';

/** Whether the event was refused because its namespace is terminating or gone: ignored. */
const unwanted = (error: unknown): boolean =>
  error instanceof StatusError && (error.code === 403 || error.code === 404);

export const eventSink = (client: Client): EventSink => ({
  create: (namespace, event) =>
    client.create(events, namespace, event).catch((error: unknown) => {
      if (unwanted(error)) return { metadata: {} };
      throw error;
    }),
  patch: (namespace, name, patch) => client.patch(events, namespace, name, patch),
});
