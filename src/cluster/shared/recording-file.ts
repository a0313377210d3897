/** The file that says of a data folder that it is a recording, and of which cluster. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writePrivately } from '../../pki/pki-folder.ts';

const fileName = 'recording.json';

export interface RecordingFile {
  /** The server that is recorded. */
  readonly source: string;
  /** The identity of the cluster; '' where that may not be read. */
  readonly cluster: string;
  /** When the recording began. */
  readonly begun: string;
  /** Whether everything was listed once: history begins after that. */
  readonly isListed: boolean;
  /** The version that history begins with, and since when it was the state. */
  readonly first?: { readonly version: number; readonly timeMs: number };
}

export function readRecordingFile(dataDir: string): RecordingFile | undefined {
  const file = path.join(dataDir, fileName);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RecordingFile) : undefined;
}

export function writeRecordingFile(dataDir: string, content: RecordingFile): void {
  writePrivately(path.join(dataDir, fileName), `${JSON.stringify(content, null, 2)}\n`);
}
