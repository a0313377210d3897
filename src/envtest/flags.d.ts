declare module '*/apiserver-flags.json' {
  const file: {
    /** The sections of the help, in order. */
    readonly sections: readonly string[];
    readonly flags: readonly import('./flag.ts').Flag[];
  };
  export default file;
}
declare module '*/etcd-flags.json' {
  const file: { readonly flags: readonly import('./flag.ts').Flag[] };
  export default file;
}
declare module '*/feature-gates.json' {
  const file: {
    /** Gates that can be set. */
    readonly free: readonly string[];
    /** Gates that are locked on, and off. */
    readonly on: readonly string[];
    readonly off: readonly string[];
  };
  export default file;
}
