/** Proves that what Node does at the end of a connection is put off, and happens once. */
import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { optimized } from '../../switches.ts';
import { withOwnEnd } from './session-ends.ts';

it.runIf(optimized)('Node hears of the end of a connection when it is told, others at once', () => {
  const socket = new EventEmitter() as TLSSocket;
  const heard: string[] = [];
  socket.on('close', () => heard.push('before'));
  let tellNode: (() => void) | undefined;
  const session = withOwnEnd(
    socket,
    () => {
      socket.once('close', () => heard.push('Node'));
      return 'session';
    },
    (ended, byNode) => {
      heard.push(ended);
      tellNode = byNode;
    },
  );
  socket.on('close', () => heard.push('after'));
  expect(session).toBe('session');
  socket.emit('close');
  expect(heard).toEqual(['before', 'session', 'after']);
  tellNode!();
  expect(heard).toEqual(['before', 'session', 'after', 'Node']);
});
