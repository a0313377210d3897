declare module '*.fields.json' {
  import type { FieldTableFile } from './model.ts';

  const file: FieldTableFile;
  export default file;
}

declare module '*/descriptions.json' {
  import type { DescriptionFile } from './descriptions.ts';

  const file: DescriptionFile;
  export default file;
}
