/**
 * Drivers by the name that a configuration gives in `driver:`.
 * @throws {Error} a name that a configuration could not hold, or that two drivers have: the program
 *   does not start.
 */
export function driverTable<Driver extends { readonly name: string }>(
  drivers: readonly Driver[],
): ReadonlyMap<string, Driver> {
  const table = new Map<string, Driver>();
  for (const driver of drivers) {
    const { name } = driver;
    if (!/^[a-z][a-z0-9-]{0,30}$/.test(name)) {
      throw new Error(
        `"${name}" is no name for a driver: a-z first, then a-z, 0-9 or -, at most 31`,
      );
    }
    if (table.has(name)) throw new Error(`there are two drivers named ${name}`);
    table.set(name, driver);
  }
  return table;
}
