declare module '*/versions.json' {
  import type { VersionTables } from './version-tables.ts';

  const file: VersionTables;
  export default file;
}

declare module '*/former-tables.json' {
  import type { FormerTables } from './version-tables.ts';

  const file: FormerTables;
  export default file;
}
