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
