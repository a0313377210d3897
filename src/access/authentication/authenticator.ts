/** Authenticators: who sends a request. Each knows one kind of credential. */

import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { User } from '../../api/values/user.ts';

/** What a request shows of its sender. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Header names and values in turn, as they were sent: for headers that may come several times. */
  readonly rawHeaders: readonly string[];
  /** A token sent as a WebSocket subprotocol. */
  readonly protocolToken: string | undefined;
  readonly path: string;
  /** The client certificate of its connection, not verified; undefined for a connection without one. */
  readonly certificate: PeerCertificate | undefined;
  /** Texts for Warning headers are added here. */
  readonly warnings: string[];
  /** Annotations for the audit log are added here. */
  readonly annotations: Record<string, string>;
}

/** One object per connection, so that what was worked out of it can be kept by it. */
export interface PeerCertificate {
  readonly leaf: X509Certificate;
  /** What the client sent beside it. */
  readonly intermediates: readonly X509Certificate[];
}

export interface Authenticator {
  /** The user; undefined: no credential of this kind was shown. Throws when one was shown that is not good. */
  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined>;
}
