/** Text of objects, files and servers on a terminal. */

/** What a terminal obeys, and marks that change the direction or the lines in which text is shown. */
const commands = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** One line that a terminal only shows: each run of such characters becomes a space. */
export const terminalText = (text: string): string => text.replace(commands, ' ');

/** One line in which such characters can be read: `\\n`, `\\u001b`. */
export const escapedText = (text: string): string =>
  text.replace(commands, (run) =>
    [...run]
      .map((one) =>
        one < ' '
          ? JSON.stringify(one).slice(1, -1)
          : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      .join(''),
  );

/** Several lines in which such characters can be read; their ends stay. */
export const escapedLines = (text: string): string => text.split('\n').map(escapedText).join('\n');

/** JSON for a terminal or a program: JSON.stringify itself leaves some of these characters as they are. */
export const terminalJson = (value: unknown, indent?: number): string =>
  `${escapedLines(JSON.stringify(value, null, indent))}\n`;
