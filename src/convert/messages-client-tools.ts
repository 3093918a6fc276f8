/** A tool whose schema Anthropic's models know; other models need it in the request. */
export interface ClientTool {
  readonly description: string;
  readonly parameters: object;
}

const text = (description: string) => ({ type: 'string', description });

const bash: ClientTool = {
  description: 'Run a command in a persistent bash session and get its output.',
  parameters: {
    type: 'object',
    properties: {
      command: text('The bash command to run. Required unless the session is restarted.'),
      restart: { type: 'boolean', description: 'True restarts the session.' },
    },
  },
};

const textEditor: ClientTool = {
  description:
    'View, create and edit text files. `str_replace` replaces a text that occurs exactly once; `insert` puts text behind a line.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
      path: text('Path of the file or directory.'),
      file_text: text('For `create`: the content of the file.'),
      old_str: text('For `str_replace`: the text to replace.'),
      new_str: text('For `str_replace`: the text to put in its place.'),
      insert_line: {
        type: 'integer',
        description: 'For `insert`: the line to insert behind; 0 is the start.',
      },
      insert_text: text('For `insert`: the text to insert.'),
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        description: 'For `view`: first and last line, counted from 1; -1 is the end.',
      },
    },
    required: ['command', 'path'],
  },
};

const memory: ClientTool = {
  description: 'Keep notes in files below /memories between conversations.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: text('Path of the file or directory, below /memories.'),
      file_text: text('For `create`: the content of the file.'),
      old_str: text('For `str_replace`: the text to replace.'),
      new_str: text('For `str_replace`: the text to put in its place.'),
      insert_line: {
        type: 'integer',
        description: 'For `insert`: the line to insert behind; 0 is the start.',
      },
      insert_text: text('For `insert`: the text to insert.'),
      old_path: text('For `rename`: the present path.'),
      new_path: text('For `rename`: the new path.'),
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        description: 'For `view`: first and last line.',
      },
    },
    required: ['command'],
  },
};

const known: readonly (readonly [type: RegExp, tool: ClientTool])[] = [
  [/^bash_/, bash],
  [/^text_editor_/, textEditor],
  [/^memory_/, memory],
];

/** The schema of a typed client tool; undefined if none is known. */
export function clientTool(type: string): ClientTool | undefined {
  return known.find(([pattern]) => pattern.test(type))?.[1];
}
