/** Where the server listens: the local door, and the secure one with what it shows. */
import { cipherList } from '../../pki/cipher-suites.ts';
import { handedIn, optionFor } from './option.ts';
import { off, parsed, portOf, repeated, text, wholeNumber, wordFor } from './values.ts';

const option = optionFor('up', 'serve');
const local = optionFor('up', 'serve', 'open', 'record');
const streamsMaxMax = 1_000_000;

export const localDoorOptions = {
  /** Port of the local door. Default 0: any free one. `off` closes it, when there is a secure one. */
  port: local<number | 'off'>({
    flag: 'port',
    needed: ['up', 'serve', 'test', 'open', 'record'],
    value: parsed('PORT', 'a number from 0 to 65535', (given) => (given === 'off' ? given : portOf(given))),
    text: 'port for plain HTTP; 0 takes any free one, off none',
    default: '8080',
    preset: true,
  }),
  /** Address of the local door, which serves plain HTTP; loopback only. Default `127.0.0.1`. */
  host: local<string>({
    flag: 'host',
    value: text('HOST'),
    text: 'loopback address for plain HTTP',
    default: '127.0.0.1',
  }),
};

export interface SniFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Names it is shown for, `*.example.com` included. Default: those of the certificate. */
  readonly names?: readonly string[];
}

export const listenOptions = {
  /** Port to listen on. Default 0: any free one. */
  port: option<number>({
    flag: 'secure-port',
    needed: ['serve', 'test'],
    // Off closes the whole door, so that its number does not matter.
    value: parsed('PORT', 'a number from 0 to 65535, or off', (given) =>
      given === 'off' ? 0 : portOf(given),
    ),
    text: 'port for HTTPS; 0 takes any free one, off none (default 6443, or any when that is taken)',
    isPassedOn: true,
  }),
  /** Take any free port when this one is taken. Default false. */
  orAnyPort: handedIn<boolean>(),
  /** Address to listen on; any of this machine. Default `127.0.0.1`. */
  host: option<string>({
    flag: 'secure-host',
    needed: ['serve'],
    value: text('HOST'),
    text: 'address for HTTPS; any of this machine, 0.0.0.0 for all',
    default: '127.0.0.1',
  }),
  /** Address that the endpoints of the service `kubernetes` show. Default: the one it listens on. */
  advertiseAddress: handedIn<string>(),
  /** Further names and addresses for the serving certificate. */
  sans: option<readonly string[]>({
    flag: 'tls-san',
    value: repeated('NAME', (given, flag, refuse) =>
      /^[A-Za-z0-9*._:-]{1,253}$/.test(given)
        ? given
        : refuse(`${flag} must be a name or an address, not ${JSON.stringify(given)}`),
    ),
    text: 'a further name or address for the certificate of the server; may be repeated',
  }),
  /** File of a serving certificate, with those that signed it behind it. Default: one of the cluster's own authority. */
  certFile: option<string>({
    flag: 'tls-cert-file',
    value: text('FILE'),
    text: 'certificate of the server, in place of one that it makes',
  }),
  /** File of its private key. */
  keyFile: option<string>({
    flag: 'tls-private-key-file',
    value: text('FILE'),
    text: 'its private key',
  }),
  /** Certificates for single names. */
  sniCertificates: option<readonly SniFiles[]>({
    flag: 'tls-sni-cert-key',
    value: repeated(
      'CERT,KEY[:NAMES]',
      (given, flag, refuse) =>
        sniFiles(given) ??
        refuse(
          `${flag} must be two files and maybe names, such as a.crt,a.key:a.example, not ${JSON.stringify(given)}`,
        ),
    ),
    text: 'certificate for clients that ask for one of these names; may be repeated',
    isPassedOn: true,
  }),
  /** File of authorities whose client certificates are accepted, beside the cluster's own. */
  clientCAFile: option<string>({
    flag: 'client-ca-file',
    value: text('FILE'),
    text: "\nauthorities whose client certificates are accepted, beside the cluster's own",
    isPassedOn: true,
  }),
  /** Default `TLSv1.2`. */
  minVersion: option<'TLSv1.2' | 'TLSv1.3'>({
    flag: 'tls-min-version',
    value: wordFor('VERSION', { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' }),
    text: 'VersionTLS12 or VersionTLS13',
    default: 'VersionTLS12',
    isPassedOn: true,
  }),
  /** Cipher suites of TLS 1.2, in OpenSSL's words, separated by colons. */
  ciphers: option<string>({
    flag: 'tls-cipher-suites',
    value: {
      shown: 'LIST',
      form: 'list',
      read: (given, flag, refuse) =>
        cipherList(given.flatMap((one) => one.split(','))) ??
        refuse(`${flag} names a suite that is not supported: ${JSON.stringify(given.join())}`),
    },
    text: 'cipher suites for TLS 1.2, by their names in Go (default: those of kube-apiserver)',
    isPassedOn: true,
  }),
  /** Requests that one HTTP/2 connection may have open. Default 100. */
  http2StreamsMax: option<number | undefined>({
    flag: 'http2-max-streams-per-connection',
    value: {
      shown: 'N',
      form: 'text',
      // 0 stands for the default, as in Kubernetes.
      read: ([given = ''], flag, refuse) =>
        (wholeNumber(given, streamsMaxMax) ??
          refuse(`${flag} must be a number from 0 to ${streamsMaxMax}, not ${JSON.stringify(given)}`)) ||
        undefined,
    },
    text: 'requests that one connection may have open',
    default: '100',
  }),
  /** Whether HTTP/2 is spoken. Default true. */
  http2: option<boolean>({ flag: 'disable-http2-serving', value: off, text: 'speak HTTP/1.1 only' }),
  /**
   * File that the administrator's kubeconfig is written to; false: none is. Default: `kubeconfig` in the data folder, if
   * there is one.
   */
  kubeconfigFile: option<string | false>({
    flag: 'write-kubeconfig',
    value: text('FILE'),
    text: "where the administrator's kubeconfig is written (default: kubeconfig in the data folder)",
  }),
};

/** `cert,key` or `cert,key:name,name`. */
function sniFiles(given: string): SniFiles | undefined {
  const [, certFile, keyFile, names] = /^([^,:]+),([^,:]+)(?::(.+))?$/.exec(given) ?? [];
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, ...(names === undefined ? {} : { names: names.split(',') }) };
}
