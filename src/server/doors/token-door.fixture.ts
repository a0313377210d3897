/** For tests of doors: a door that identifies users by tokens, with an authorizer that the test controls. */
import { createServer } from 'node:http';
import { StatusError, unauthorized } from '../../api/errors/errors.ts';
import { type Attributes, allowed, type Decision } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import type { ApiRequest, RequestContext } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';

const alice: User = {
  name: 'alice',
  uid: 'u-1',
  groups: ['admins', 'system:authenticated'],
  extra: { 'example.com/team': ['red', 'blue'] },
};
const mallory: User = { name: 'mallory', groups: ['system:authenticated'], extra: {} };

const users: ReadonlyMap<string, User> = new Map([
  ['a', alice],
  ['m', mallory],
]);

/** Resolves later, like a door or authorizer that has to ask another server. */
const later = <T>(make: () => T): Promise<T> => new Promise((resolve) => setImmediate(resolve)).then(make);

export class TokenDoor implements Door {
  readonly unidentified: User = { name: '', groups: [], extra: {} };
  /** The questions to the authorizer. */
  readonly asked: string[] = [];
  readonly authorizer = { decide: (attributes: Attributes) => this.#answer(() => this.#decide(attributes)) };
  #listener: HttpListener | undefined;

  /** @param waits whether identification and decisions are asynchronous */
  constructor(private readonly waits: boolean) {}

  get url(): string {
    return `http://${this.#listener!.authority}`;
  }

  async listen(reception: Reception): Promise<void> {
    const server = createServer(listenerOptions(reception.keeper.limits));
    this.#listener = new HttpListener(server, this, reception, new Arrivals());
    await this.#listener.listen('127.0.0.1', 0);
  }

  admit({ headers }: ApiRequest): void {
    if (headers.origin !== undefined) throw new StatusError(403, 'Forbidden', 'no pages here', {});
  }

  identify({ request: { headers } }: RequestContext, token: string | undefined): User | Promise<User> {
    const sent = token ?? headers.authorization?.replace(/^Bearer /, '');
    return this.#answer(() => {
      if (sent === 'broken') throw new Error('the list of users is lost');
      const user = users.get(sent ?? '');
      if (!user) throw unauthorized();
      return user;
    });
  }

  shut(): void {
    this.#listener?.shut();
  }

  async close(): Promise<void> {
    await this.#listener?.close(() => undefined);
  }

  #answer<T>(make: () => T): T | Promise<T> {
    return this.waits ? later(make) : make();
  }

  #decide({ user, info }: Attributes): Decision {
    const { verb, path, resource } = info;
    const what = resource && [resource.group, resource.resource, resource.subresource].join('/');
    this.asked.push(`${user.name} ${verb} ${what ?? path}`);
    return user === alice ? allowed : { allowed: false, reason: 'nobody allowed it' };
  }
}
