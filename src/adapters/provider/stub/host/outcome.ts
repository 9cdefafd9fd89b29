/** What a command came to. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A success that says something. */
export const said = (stdout: string): Outcome => ({ exitCode: 0, stdout, stderr: '' });
/** A failure, with a line about it. */
export const failed = (exitCode: number, stderr: string): Outcome => ({
  exitCode,
  stdout: '',
  stderr: `${stderr}\n`,
});
