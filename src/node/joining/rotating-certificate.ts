/**
 * A certificate of a node: kept in a file with its key, and replaced by one with a new key long before it expires. The
 * key is stored before its certificate is requested, so that a restart continues the same request.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Certified } from '../../pki/authority.ts';
import { type KeyPair, keyPairOf, newKeyPair, privatePem } from '../../pki/key-pair.ts';
import { type PkiFolder, writePrivately } from '../../pki/pki-folder.ts';
import { JoinError } from './join-error.ts';

/** The certificate is renewed at a random point between these shares of its life, so that not all nodes ask at once. */
const renewFrom = 0.7;
const renewTo = 0.9;
const retryFirstMs = 1_000;
const retryMaxMs = 5 * 60_000;
/** Longer timers end early, and are set again. */
const sleepMaxMs = 3_600_000;

export interface RotatingOptions {
  readonly folder: PkiFolder;
  /** The name of the file, such as `kubelet-client`. */
  readonly name: string;
  readonly ask: (key: KeyPair) => Promise<string>;
  readonly now: () => number;
  /** Called with each new certificate. */
  readonly changed: (certified: Certified) => void;
  readonly onError: (error: Error) => void;
  /** Returns a number from 0 to 1; for tests. */
  readonly random?: () => number;
}

export class RotatingCertificate {
  #current: Certified | undefined;
  #timer: NodeJS.Timeout | undefined;
  #renewAtMs = 0;
  #retryMs = retryFirstMs;
  #closed = false;

  constructor(private readonly options: RotatingOptions) {
    this.#current = this.#stored();
  }

  /** The certificate; undefined before the first one, and after it has expired. */
  get current(): Certified | undefined {
    const { now } = this.options;
    return this.#current && endOf(this.#current) > now() ? this.#current : undefined;
  }

  /** Whether there was a certificate and it has expired. */
  get hadEnded(): boolean {
    return this.#current !== undefined && this.current === undefined;
  }

  /** The file with the certificate and its key. */
  get file(): string {
    return path.join(this.options.folder.folder, `${this.options.name}-current.pem`);
  }

  /** Called when the certificate cannot be used: another one is requested. */
  forget(): void {
    this.#current = undefined;
  }

  /** The current certificate, or the first one, which is then requested. */
  async first(): Promise<Certified> {
    return this.current ?? this.#replace();
  }

  /** Renews the certificate from now on, until it is closed. */
  keep(): void {
    this.#appoint();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  get #keyFile(): string {
    return path.join(this.options.folder.folder, `${this.options.name}-next.key`);
  }

  #stored(): Certified | undefined {
    const text = textOf(this.file);
    if (text === undefined) return undefined;
    try {
      const key = privatePem(keyPairOf(text));
      const cert = text.slice(0, text.indexOf('-----BEGIN PRIVATE KEY-----'));
      new X509Certificate(cert);
      return { cert, key };
    } catch (error) {
      throw new JoinError(`${this.file} does not hold a certificate and its key; delete it to join again`, {
        cause: error,
      });
    }
  }

  async #replace(): Promise<Certified> {
    const { ask, changed } = this.options;
    const key = this.#nextKey();
    const cert = await ask(key);
    const certified = { cert, key: privatePem(key) };
    if (!new X509Certificate(cert).checkPrivateKey(key.privateKey))
      throw new JoinError('the cluster has signed another key than the one it was asked to sign');
    writePrivately(this.file, cert + certified.key);
    rmSync(this.#keyFile, { force: true });
    this.#current = certified;
    changed(certified);
    return certified;
  }

  #nextKey(): KeyPair {
    const text = textOf(this.#keyFile);
    if (text !== undefined) return keyPairOf(text);
    const key = newKeyPair();
    writePrivately(this.#keyFile, privatePem(key));
    return key;
  }

  #appoint(): void {
    const { random = Math.random } = this.options;
    if (!this.#current) this.#renewAtMs = 0;
    else {
      const begin = Date.parse(new X509Certificate(this.#current.cert).validFrom);
      const share = renewFrom + (renewTo - renewFrom) * random();
      this.#renewAtMs = begin + (endOf(this.#current) - begin) * share;
    }
    this.#sleep(this.#renewAtMs - this.options.now());
  }

  #sleep(ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#wake(), Math.min(Math.max(ms, 0), sleepMaxMs));
    this.#timer.unref();
  }

  async #wake(): Promise<void> {
    const leftMs = this.#renewAtMs - this.options.now();
    if (leftMs > 0) return this.#sleep(leftMs);
    try {
      await this.#replace();
      this.#retryMs = retryFirstMs;
      this.#appoint();
    } catch (error) {
      if (this.#closed) return;
      this.options.onError(error as Error);
      this.#sleep(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, retryMaxMs);
    }
  }
}

const endOf = ({ cert }: Certified): number => Date.parse(new X509Certificate(cert).validTo);

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
