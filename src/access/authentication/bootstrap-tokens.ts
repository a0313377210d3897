/** Bootstrap tokens as credentials. Every defect leads to the same 401 without details. */

import type { Secret } from '../../api/generated/types.ts';
import {
  type BootstrapToken,
  bootstrapSecretName,
  bootstrapTokenNamespace,
  bootstrapTokenOf,
  readBootstrapToken,
} from '../../api/values/bootstrap-token.ts';
import type { User } from '../../api/values/user.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { digestOf, type SentToken, ServerTokens } from './token-authenticator.ts';

interface Known {
  readonly token: BootstrapToken;
  readonly user: User;
}

export class BootstrapTokens extends ServerTokens {
  /** The token of each state of a secret, so that a token has the same user object until its secret changes. */
  readonly #known = new Memo((entry: Entry): Known | undefined => {
    const secret = entry.peek() as Secret;
    const token = secret.metadata.deletionTimestamp ? undefined : bootstrapTokenOf(secret);
    if (!token?.authenticates || !token.groups) return undefined;
    return { token, user: { name: `system:bootstrap:${token.id}`, groups: token.groups } };
  });

  constructor(
    private readonly registry: Registry,
    serverAudiences: readonly string[],
  ) {
    super(serverAudiences);
  }

  protected userOf({ text }: SentToken): User | undefined {
    const sent = readBootstrapToken(text);
    if (!sent) return undefined;
    const secrets = this.registry.view.collection('core/secrets');
    const entry = secrets.get(bootstrapTokenNamespace, bootstrapSecretName(sent.id));
    const known = entry && this.#known.of(entry);
    if (!known || digestOf(known.token.secret) !== digestOf(sent.secret)) return undefined;
    const { expiresMs } = known.token;
    if (expiresMs !== undefined && expiresMs <= this.registry.sources.nowMs()) return undefined;
    return known.user;
  }
}
