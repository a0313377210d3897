/** Authenticators: identify the sender of a request. Each knows one kind of credential. */

import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { User } from '../../api/values/user.ts';

/** The credentials of a request. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Header names and values in turn, as they were sent: for headers that may come several times. */
  readonly rawHeaders: readonly string[];
  /** A token sent as a WebSocket subprotocol. */
  readonly protocolToken: string | undefined;
  readonly path: string;
  /** The client certificate of its connection, not verified; undefined for a connection without one. */
  readonly certificate: PeerCertificate | undefined;
  /** Whether a browser sends the request for a page of another site: it would show a certificate by itself. */
  readonly isForeignPage?: boolean;
  /** Texts for Warning headers are added here. */
  readonly warnings: string[];
  /** Annotations for the audit log are added here. */
  readonly annotations: Record<string, string>;
}

/** The certificate of a connection. There is one object per connection, so results can be cached by it. */
export interface PeerCertificate {
  readonly leaf: X509Certificate;
  /** Further certificates that the client sent. */
  readonly intermediates: readonly X509Certificate[];
}

export interface Authenticator {
  /** Identifies the user; undefined without a credential of this kind. Throws when the credential is invalid. */
  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined>;
}
