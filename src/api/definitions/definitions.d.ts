declare module '*.fields.json' {
  import type { DefinitionFile } from '../model.ts';

  const file: DefinitionFile;
  export default file;
}
