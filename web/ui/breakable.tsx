/** Names that are too long for their place are broken where they have parts, not within a word. */

/** After `/`, `@`, `:` and hyphens of images and paths, and before capitals within names of kinds. */
const parts = /(?<=[/@:_-])(?=[^/@:_-])|(?<=[a-z])(?=[A-Z])/;

export const Breakable = ({ text }: { readonly text: string }) => (
  <>
    {text.split(parts).map((part, i) => (
      <>
        {i > 0 && <wbr />}
        {part}
      </>
    ))}
  </>
);
