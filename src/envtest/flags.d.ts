declare module '*/apiserverflags.json' {
  const file: {
    /** Of the help, in order. */
    readonly sections: readonly string[];
    readonly flags: readonly import('./flag.ts').Flag[];
  };
  export default file;
}
declare module '*/etcdflags.json' {
  const file: { readonly flags: readonly import('./flag.ts').Flag[] };
  export default file;
}
declare module '*/featuregates.json' {
  const file: {
    /** Gates that can be set. */
    readonly free: readonly string[];
    /** Gates that are on for good, and off. */
    readonly on: readonly string[];
    readonly off: readonly string[];
  };
  export default file;
}
