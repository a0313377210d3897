/**
 * What flags of kube-apiserver point to, in one HTTPS server of the test: reviewers of tokens and of accesses, a sink of
 * audit events, an issuer of OIDC tokens, an aggregated API server and the agent of a node.
 */
import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { servingCertificate } from './harness.ts';

/** A request that came here. */
export interface Came {
  readonly path: string;
  /** Common name of the client's certificate. */
  readonly client: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: any;
}

export class OtherSide {
  readonly came: Came[] = [];
  readonly ca: string;
  readonly #server: Server;
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  /** Bodies of answers by path; a request of another path waits for ever. */
  readonly #answers = new Map<string, (body: any) => object | string>();

  constructor() {
    const { cert, key, ca } = servingCertificate('localhost', '127.0.0.1');
    this.ca = ca;
    this.#server = createServer(
      { cert, key, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        let text = '';
        request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        request.on('end', () => {
          const path = request.url!.split('?')[0]!;
          const client = (request.socket as TLSSocket).getPeerCertificate().subject?.CN;
          const body = text ? JSON.parse(text) : undefined;
          this.came.push({
            path,
            headers: request.headers,
            client: typeof client === 'string' ? client : client?.[0],
            body,
          });
          const made = this.#answers.get(path)?.(body);
          if (made === undefined) return;
          response.setHeader('Content-Type', 'application/json');
          response.end(typeof made === 'string' ? made : JSON.stringify(made));
        });
      },
    );
  }

  async start(): Promise<void> {
    await once(this.#server.listen(0), 'listening');
    const { n, e } = this.#keys.publicKey.export({ format: 'jwk' });
    this.answer('/.well-known/openid-configuration', () => ({
      issuer: this.url,
      jwks_uri: `${this.url}/keys`,
    }));
    this.answer('/keys', () => ({ keys: [{ kty: 'RSA', kid: 'one', alg: 'RS256', use: 'sig', n, e }] }));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  answer(path: string, make: (body: any) => object | string): void {
    this.#answers.set(path, make);
  }

  /** A kubeconfig that leads here, as flags of webhooks name it. */
  kubeconfig(path: string): object {
    const cluster = {
      server: this.url + path,
      'certificate-authority-data': Buffer.from(this.ca).toString('base64'),
    };
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
  }

  /** A token of the issuer. */
  token(claims: object): string {
    const now = Math.floor(Date.now() / 1000);
    const body = { iss: this.url, iat: now, exp: now + 3600, ...claims };
    const text = [{ alg: 'RS256', kid: 'one', typ: 'JWT' }, body]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${createSign('RSA-SHA256').update(text).sign(this.#keys.privateKey, 'base64url')}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
