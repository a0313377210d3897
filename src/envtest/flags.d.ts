declare module '*/apiserverflags.json' {
  const file: import('./flag.ts').FlagFile;
  export default file;
}
declare module '*/etcdflags.json' {
  const file: import('./flag.ts').FlagFile;
  export default file;
}
