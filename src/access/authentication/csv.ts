/** Comma-separated values, as Go reads them: quoted fields may hold commas, line ends and doubled quotes. */

/** Parses the records, without empty lines. Throws an error with a sentence that names the line. */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const record: string[] = [];
    const firstLine = line;
    for (;;) {
      let field = '';
      if (text[at] === '"') {
        at++;
        for (;;) {
          const quote = text.indexOf('"', at);
          if (quote < 0) throw new Error(`line ${firstLine}: a quoted field has no end`);
          field += text.slice(at, quote);
          at = quote + 1;
          if (text[at] !== '"') break;
          field += '"';
          at++;
        }
        line += field.split('\n').length - 1;
        if (at < text.length && !/[,\r\n]/.test(text[at]!))
          throw new Error(`line ${line}: there is text after a quoted field`);
      } else {
        const rest = /[,\n]/g;
        rest.lastIndex = at;
        const end = rest.exec(text)?.index ?? text.length;
        field = text.slice(at, end).replace(/\r$/, '');
        if (field.includes('"')) throw new Error(`line ${line}: a quote inside a field that is not quoted`);
        at = end;
      }
      record.push(field);
      if (text[at] === '\r') at++;
      if (text[at] !== ',') break;
      at++;
    }
    at++;
    line++;
    if (record.length > 1 || record[0] !== '') records.push(record);
  }
  return records;
}
