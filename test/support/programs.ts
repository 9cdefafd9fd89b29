/**
 * Tells whether a test's system program is installed, for `runIf(isProvided(…))`. Where the program
 * is missing, the run says what stays untested. Where `CI` is set, a missing program fails the
 * file.
 * @param program null or false: missing
 * @param needs the tested thing, and the package that provides the program
 */
export function isProvided(
  program: string | boolean | null,
  needs: { readonly tested: string; readonly by: string },
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  if (program) return true;
  const message = `${needs.tested} cannot be tested: apt-get install ${needs.by}`;
  if (env['CI']) throw new Error(message);
  process.stderr.write(`NOT TESTED: ${message}\n`);
  return false;
}
