declare module '*.fields.json' {
  import type { DefinitionFile } from './model.ts';

  const file: DefinitionFile;
  export default file;
}

declare module '*/descriptions.json' {
  import type { DescriptionFile } from './descriptions.ts';

  const file: DescriptionFile;
  export default file;
}
