/** For tests of authorization: a door that takes users at their word. A header says who sends a request, as JSON. */
import { createServer } from 'node:http';
import type { Authorizer } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';

const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The header of a request by a user. */
export const sentBy = (user: User): Record<string, string> => ({ 'X-Sent-By': JSON.stringify(user) });

export class NamedDoor implements Door {
  readonly unidentified = anonymous;
  #listener: HttpListener | undefined;

  constructor(readonly authorizer: Authorizer) {}

  get url(): string {
    return `http://${this.#listener!.authority}`;
  }

  async listen(reception: Reception): Promise<void> {
    const server = createServer(listenerOptions(reception.keeper.limits));
    this.#listener = new HttpListener(server, this, reception, new Arrivals());
    await this.#listener.listen('127.0.0.1', 0);
  }

  admit(): void {}

  identify({ request }: RequestContext): User {
    const sent = request.headers['x-sent-by'];
    return sent === undefined ? anonymous : (JSON.parse(String(sent)) as User);
  }

  shut(): void {
    this.#listener?.shut();
  }

  async close(): Promise<void> {
    await this.#listener?.close(() => undefined);
  }
}
