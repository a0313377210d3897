/** How the secure door listens, and what it shows. */
export { cipherList } from '../../pki/cipher-suites.ts';

export interface ListenOptions {
  /** Address to listen on; any of this machine. Default `127.0.0.1`. */
  readonly host?: string;
  /** Port to listen on. Default 0: any free one. */
  readonly port?: number;
  /** Take any free port when this one is taken. Default false. */
  readonly orAnyPort?: boolean;
  /** Address that the endpoints of the service `kubernetes` show. Default: the one it listens on. */
  readonly advertiseAddress?: string | undefined;
  /** Further names and addresses for the serving certificate. */
  readonly sans?: readonly string[];
  /** File of a serving certificate, with those that signed it behind it. Default: one of the cluster's own authority. */
  readonly certFile?: string;
  /** File of its private key. */
  readonly keyFile?: string;
  /** Certificates for single names. */
  readonly sniCertificates?: readonly SniFiles[];
  /** File of authorities whose client certificates are accepted, beside the cluster's own. */
  readonly clientCAFile?: string;
  /** Default `TLSv1.2`. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** Cipher suites of TLS 1.2, in OpenSSL's words, separated by colons. */
  readonly ciphers?: string;
  /**
   * File that the administrator's kubeconfig is written to; false: none is. Default: `kubeconfig` in the data folder, if
   * there is one.
   */
  readonly kubeconfigFile?: string | false;
  /** Whether HTTP/2 is spoken. Default true. */
  readonly http2?: boolean;
  /** Requests that one HTTP/2 connection may have open. Default 1,000. */
  readonly http2StreamsMax?: number;
}

export interface SniFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Names it is shown for, `*.example.com` included. Default: those of the certificate. */
  readonly names?: readonly string[];
}
