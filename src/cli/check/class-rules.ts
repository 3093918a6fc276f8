import { classLabel } from '../../resources/class-label.ts';
import type { Circumstances } from './circumstances.ts';
import type { Finding } from './finding.ts';
import type { CheckedFolder } from './folder.ts';
import { objectFinding } from './object-finding.ts';

/** Rules about the class of nodes and keys, which decides the installation that serves them. */
export function classFindings({ nodes, keys }: CheckedFolder, { classes }: Circumstances): Finding[] {
  return [...nodes, ...keys].flatMap(({ resource, object }) => {
    const name = resource.metadata.labels?.[classLabel];
    if (name === undefined || classes.includes(name)) return [];
    const field = 'metadata.labels';
    if (classes.length === 0) {
      const message = `only an installation with --class ${name} serves this object`;
      return [
        objectFinding(
          'class-unjudged',
          object,
          field,
          message,
          'name the classes of your installations: --class NAME',
        ),
      ];
    }
    const message = `nothing serves this object: no --class names "${name}" (${classes.join(', ')})`;
    const remedy = `correct or remove the label ${classLabel}, or add --class ${name}`;
    return [objectFinding('class-unserved', object, field, message, remedy)];
  });
}
