/**
 * Drivers by the value of `driver:` in a configuration.
 * @throws {Error} two drivers share a name, or a configuration cannot hold it: the program does not
 * start.
 */
export function driverTable<Driver extends { readonly name: string }>(
  drivers: readonly Driver[],
): ReadonlyMap<string, Driver> {
  const table = new Map<string, Driver>();
  for (const driver of drivers) {
    const { name } = driver;
    if (!/^[a-z][a-z0-9-]{0,30}$/.test(name)) {
      throw new Error(
        `"${name}" is not a valid driver name: a-z first, then a-z, 0-9 or -, at most 31`,
      );
    }
    if (table.has(name)) throw new Error(`two drivers are named ${name}`);
    table.set(name, driver);
  }
  return table;
}
