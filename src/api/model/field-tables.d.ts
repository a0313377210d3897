declare module '*.fields.json' {
  import type { FieldTableFile } from './model.ts';

  const file: FieldTableFile;
  export default file;
}

declare module '*.descriptions.json' {
  import type { TableDescriptions } from './descriptions.ts';

  const file: TableDescriptions;
  export default file;
}

declare module '*/shared-descriptions.json' {
  import type { SharedDescriptions } from './descriptions.ts';

  const file: SharedDescriptions;
  export default file;
}
