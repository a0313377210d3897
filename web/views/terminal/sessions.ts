/** The open terminal sessions of the dashboard, whatever it shows. */
import { signal } from '@preact/signals';
import { Session, type SessionWish } from './session.ts';

/** Each holds a connection and its text. */
const sessionsMax = 20;

export const sessions = signal<readonly Session[]>([]);

let lastId = 0;

/** Returns undefined when too many are open. */
export function openSession(wish: SessionWish): Session | undefined {
  if (sessions.value.length >= sessionsMax) return undefined;
  const session = new Session(++lastId, wish);
  sessions.value = [...sessions.value, session];
  return session;
}

export function closeSession(session: Session): void {
  sessions.value = sessions.value.filter((other) => other !== session);
  session.close();
}
