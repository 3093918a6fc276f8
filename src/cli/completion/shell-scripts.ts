/** The script of each shell. All of them ask `model-gateway __complete`, whose last line says whether to offer files too. */
export const shellScripts = {
  bash: `# Completion of model-gateway for bash.
_model_gateway() {
  local line words reply directive current prefix
  # Not COMP_WORDS: bash splits names of models at their colons there.
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ "\${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  current=\${words[-1]}
  prefix=\${current%"\${current##*[:=]}"}
  COMPREPLY=()
  reply=$("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null) || return
  while IFS= read -r line; do
    case $line in
      :[0-9]) directive=$line ;;
      *)
        line=\${line%%$'\\t'*}
        COMPREPLY+=("\${line#"$prefix"}")
        ;;
    esac
  done <<< "$reply"
  if [[ $directive == :0 ]]; then compopt -o default; fi
}
complete -F _model_gateway model-gateway
`,
  zsh: `#compdef model-gateway
# Completion of model-gateway for zsh.
_model_gateway() {
  local line directive
  local -a offered
  while IFS= read -r line; do
    case $line in
      :[0-9]) directive=$line ;;
      *$'\\t'*) offered+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) offered+=("\${line//:/\\\\:}") ;;
    esac
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#offered} )) && _describe 'model-gateway' offered
  [[ $directive == :0 ]] && _files
}
compdef _model_gateway model-gateway
`,
  fish: `# Completion of model-gateway for fish.
function __model_gateway_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete -- $words[2..-1] 2>/dev/null | string match --invert --regex '^:[0-9]$'
end
complete -c model-gateway -f -a '(__model_gateway_complete)'
for flag in kubeconfig manifests data models-file request tls-cert tls-key
  complete -c model-gateway -l $flag -r -F
end
`,
} as const;
