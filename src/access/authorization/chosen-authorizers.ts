/**
 * The union of the chosen authorizers. When a configuration file chooses them, they change with the file. Authorizers
 * with state of the cluster (Node, RBAC) or a file of their own (ABAC) are made at the start and kept: as in
 * Kubernetes, a changed file may remove them and bring them back, but not add one that was not there at the start.
 */
import type { Authorizer } from '../../api/kind/access.ts';
import { WatchedFiles } from '../../pki/watched-files.ts';
import { readTextFile } from '../shared/text-file.ts';
import type { ConfiguredAuthorizer } from './authorization-configuration.ts';
import type { AuthorizationMode } from './authorization-options.ts';
import { UnionAuthorizer } from './union.ts';
import { WebhookAuthorizer } from './webhook.ts';

export type AuthorizerMakers = Readonly<
  Record<AuthorizationMode, (one: ConfiguredAuthorizer) => Authorizer | Promise<Authorizer>>
>;

type Read = (text: string) => readonly ConfiguredAuthorizer[];

const fromStart: readonly AuthorizationMode[] = ['Node', 'RBAC', 'ABAC'];

export class ChosenAuthorizers {
  readonly authorizer = new UnionAuthorizer([]);
  modes: readonly AuthorizationMode[] = [];
  readonly #kept = new Map<AuthorizationMode, Authorizer>();
  #webhooks: readonly WebhookAuthorizer[] = [];
  #file: WatchedFiles | undefined;
  /** Serializes changes of the file. */
  #using: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(private readonly makers: AuthorizerMakers) {}

  /** Replaces the authorizers. Rejects when one cannot be made; then the former ones stay. */
  async use(chosen: readonly ConfiguredAuthorizer[]): Promise<void> {
    const made: Authorizer[] = [];
    for (const one of chosen) made.push(await this.#make(one));
    const former = this.#webhooks;
    this.#webhooks = made.filter((one) => one instanceof WebhookAuthorizer);
    this.authorizer.use(made);
    this.modes = chosen.map(({ mode }) => mode);
    for (const webhook of former) void webhook.retire();
    if (this.#closed) this.close();
  }

  /**
   * Uses the authorizers of a file, and again when it changes. Rejects with a sentence when the file cannot be used
   * now.
   */
  async follow(file: string, read: Read, log: (message: string) => void): Promise<void> {
    let used = await readTextFile(file, 'authorization configuration file');
    try {
      await this.use(read(used));
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`the authorization configuration file ${file} cannot be used: ${message}`, {
        cause: error,
      });
    }
    const take = ([text = '']: readonly string[]): void => {
      if (text === used) return;
      const chosen = read(text);
      this.#checkFromStart(chosen);
      used = text;
      this.#using = this.#using.then(() => this.#change(chosen, file, log));
    };
    this.#file = new WatchedFiles({ paths: [file], take, log });
  }

  close(): void {
    this.#closed = true;
    this.#file?.close();
    for (const webhook of this.#webhooks) webhook.close();
  }

  async #change(
    chosen: readonly ConfiguredAuthorizer[],
    file: string,
    log: (message: string) => void,
  ): Promise<void> {
    try {
      await this.use(chosen);
      log(`${file} has changed: what users may do is decided by ${this.modes.join(', ')}`);
    } catch (error) {
      log(`${file} cannot be used, so what was there before stays: ${(error as Error).message}`);
    }
  }

  #checkFromStart(chosen: readonly ConfiguredAuthorizer[]): void {
    const added = chosen.find(({ mode }) => fromStart.includes(mode) && !this.#kept.has(mode));
    if (added) throw new Error(`the type ${added.mode} can only be there from the start`);
  }

  async #make(one: ConfiguredAuthorizer): Promise<Authorizer> {
    const kept = this.#kept.get(one.mode);
    if (kept) return kept;
    const made = await this.makers[one.mode](one);
    if (fromStart.includes(one.mode)) this.#kept.set(one.mode, made);
    return made;
  }
}
